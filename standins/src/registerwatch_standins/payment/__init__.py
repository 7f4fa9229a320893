"""A stand-in for Stripe.

The part of its HTTP interface that a service with subscriptions uses, its pages where people pay, its signed events.
"""
