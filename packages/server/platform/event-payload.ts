/**
 * The content of an event; the webhooks wrap it in their envelopes. Complete and final: deliveries read nothing else.
 */
export interface EventPayload {
  /** The `data` of the standard format, matching the contract's schema of this event. */
  data: Record<string, unknown>;
  /** The `data` of the simple format; absent for events that do not exist in it. */
  simple?: Record<string, unknown>;
  /** The event's own part of the standard envelope's `metadata`; the delivery adds the rest. */
  metadata?: { trigger?: string; scheduleId?: string | null };
  /** A sample that somebody requested: it did not happen. */
  isSample?: true;
  /** For the filters of webhooks. A restore from one project into another concerns both. */
  filter?: { projectId?: string; sourceProjectId?: string; trigger?: string };
}
