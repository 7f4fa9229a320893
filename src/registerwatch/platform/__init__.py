"""Infrastructure of any service: databases, the network, time, logs, bounded processes, fair queues."""
