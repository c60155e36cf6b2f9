import type { Transaction } from '../../../platform/database/database.ts';

/** A log that lies in a destination. */
export interface HeldLog {
  readonly logId: string;
  readonly projectId: string;
  readonly enabled: boolean;
  readonly coveredThrough: string;
}

/** The logs in a destination by project. */
export async function logsByProject(
  { client }: Transaction,
  organizationId: string,
  destinationId: string,
): Promise<Map<string, HeldLog>> {
  const { rows } = await client.query<HeldLog>(
    `select log_id as "logId", project_id as "projectId", enabled, covered_through as "coveredThrough"
       from pitr_logs where organization_id = $1 and storage_destination_id = $2`,
    [organizationId, destinationId],
  );
  return new Map(rows.map((row) => [row.projectId, row]));
}

interface LogSize {
  readonly segments: number;
  readonly bytes: number;
}

/** Asked only for a few logs: one may have hundreds of thousands of segments. */
export async function sizesOfLogs(
  { client }: Transaction,
  organizationId: string,
  logIds: readonly string[],
): Promise<Map<string, LogSize>> {
  const { rows } = await client.query<{ log_id: string; segments: string; bytes: string }>(
    `select log_id, count(*) as segments, sum(stored_bytes) as bytes
       from pitr_segments where organization_id = $1 and log_id = any($2) group by log_id`,
    [organizationId, logIds],
  );
  return new Map(rows.map((row) => [row.log_id, { segments: Number(row.segments), bytes: Number(row.bytes) }]));
}
