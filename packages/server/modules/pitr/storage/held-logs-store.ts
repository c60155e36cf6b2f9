import type { Transaction } from '../../../platform/database/database.ts';
import type { StorageProject } from '../../storage/index.ts';

interface Row {
  project_id: string;
  enabled: boolean;
  covered_through: string;
  segments: string;
  bytes: string;
}

/** The logs that lie in a destination, by their project. */
export async function logsByProject(
  { client }: Transaction,
  organizationId: string,
  destinationId: string,
): Promise<Map<string, NonNullable<StorageProject['log']>>> {
  const { rows } = await client.query<Row>(
    `select l.project_id, l.enabled, l.covered_through, s.segments, s.bytes
       from pitr_logs l
       cross join lateral (select count(*) as segments, coalesce(sum(stored_bytes), 0) as bytes
                             from pitr_segments where log_id = l.log_id and organization_id = $1) s
      where l.organization_id = $1 and l.storage_destination_id = $2`,
    [organizationId, destinationId],
  );
  return new Map(
    rows.map((row) => [
      row.project_id,
      {
        enabled: row.enabled,
        segments: Number(row.segments),
        bytes: Number(row.bytes),
        coveredThrough: new Date(row.covered_through).toISOString(),
      },
    ]),
  );
}
