import type { Transaction } from '../../platform/database/database.ts';
import { holdLock } from '../../platform/database/transaction-statements.ts';

/** A record that waits for admission, or was admitted and has not ended. */
export interface JobRecord {
  id: string;
  organizationId: string;
  admittedAt: Date | null;
}

/**
 * How the records of one kind are found in their table. Conditions are SQL on a row called `w`; the store of the table
 * defines them.
 */
export interface AdmissionTable {
  table: string;
  /** Wants to run and is not admitted yet. */
  isWaiting: string;
  /** Was admitted and has not ended. */
  isOpen: string;
  /** What only one record at a time may work on, if anything. */
  place?: string;
  admittedAt: string;
  /** Additional columns to read, as SQL. */
  columns?: string;
  /** True for rows of organizations that are not deleted. */
  isOfActiveOrganization: string;
}

export interface AdmissionLimits {
  perOrganizationMax: number;
  /** The limit for all organizations together. */
  openMax: number;
}

const openPerLookMax = 1000;

/**
 * The next record to admit: from the organization with the fewest admitted records, the oldest one whose place is free.
 * `running` is the number of admitted records of that organization. Paused records of deleted organizations do not
 * count.
 */
export async function nextToAdmit<Row extends JobRecord>(
  { client }: Transaction,
  { table, isWaiting, isOpen, place, admittedAt, columns, isOfActiveOrganization }: AdmissionTable,
  { perOrganizationMax, openMax }: AdmissionLimits,
): Promise<(Row & { running: number }) | undefined> {
  const { rows } = await client.query<Row & { running: number }>(
    `with busy as (select w.organization_id, ${place ?? 'null'} as place from ${table} w
                    where ${isOpen} and ${isOfActiveOrganization}),
          load as (select organization_id, count(*)::int as running from busy group by organization_id)
     select w.id, w.organization_id as "organizationId", w.${admittedAt} as "admittedAt", coalesce(l.running, 0) as running
            ${columns ? `, ${columns}` : ''}
       from ${table} w left join load l on l.organization_id = w.organization_id
      where ${isWaiting} and ${isOfActiveOrganization}
        and coalesce(l.running, 0) < $1 and (select count(*) from busy) < $2
        ${place ? `and not exists (select 1 from busy x where x.organization_id = w.organization_id and x.place = ${place})` : ''}
      order by coalesce(l.running, 0), w.id
      limit 1`,
    [perOrganizationMax, openMax],
  );
  return rows[0];
}

/** Records that were admitted and have not ended, in every state. */
export async function openRecords<Row extends JobRecord>(
  { client }: Transaction,
  { table, isOpen, admittedAt, columns, isOfActiveOrganization }: AdmissionTable,
): Promise<Row[]> {
  const { rows } = await client.query<Row>(
    `select w.id, w.organization_id as "organizationId", w.${admittedAt} as "admittedAt" ${columns ? `, ${columns}` : ''}
       from ${table} w where ${isOpen} and ${isOfActiveOrganization} order by w.id limit $1`,
    [openPerLookMax],
  );
  return rows;
}

export async function markAdmitted(
  { client }: Transaction,
  { table, admittedAt }: AdmissionTable,
  id: string,
  now: Date,
): Promise<void> {
  await client.query(`update ${table} set ${admittedAt} = $2 where id = $1`, [id, now]);
}

/** Gives every open record of an organization a new admission, so that the jobs of the old one do nothing more. */
export async function readmitOpen(
  { client }: Transaction,
  { table, isOpen, admittedAt }: AdmissionTable,
  organizationId: string,
): Promise<void> {
  await client.query(
    `update ${table} w set ${admittedAt} = coalesce(w.${admittedAt}, to_timestamp(0)) + interval '1 millisecond'
      where w.organization_id = $1 and ${isOpen}`,
    [organizationId],
  );
}

/** Only one process at a time admits records of a kind. */
export async function lockAdmission(transaction: Transaction, name: string): Promise<void> {
  await holdLock(transaction, 'admission', name);
}
