"""What any service needs: databases, the network, time, logs, bounded processes, fair queues."""
