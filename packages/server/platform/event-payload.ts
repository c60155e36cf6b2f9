/** What the producer of an event tells; the webhooks put the envelopes around it. Whole and final: deliveries read nothing else. */
export interface EventPayload {
  /** The `data` of the standard format, as the contract's schema of this event has it. */
  data: Record<string, unknown>;
  /** The `data` of the simple format; absent for events that do not exist in it. */
  simple?: Record<string, unknown>;
  /** What the standard envelope's `metadata` says of the event itself; the delivery adds the rest. */
  metadata?: { trigger?: string; scheduleId?: string | null };
  /** A sample that somebody asked for: nothing of it happened. */
  isSample?: true;
  /** What the filters of webhooks look at. What comes from one project and goes into another concerns both. */
  filter?: { projectId?: string; sourceProjectId?: string; trigger?: string };
}
