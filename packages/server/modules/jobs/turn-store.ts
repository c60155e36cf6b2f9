import type { Transaction } from '../../platform/database/database.ts';
import { holdLock } from '../../platform/database/transaction-statements.ts';

/** A record that waits for its turn, or has had it and is not ended. */
export interface JobRecord {
  id: string;
  organizationId: string;
  admittedAt: Date | null;
}

/** How the records of one kind stand in their table. Conditions are SQL on a row called `w`; the store of the table has them. */
export interface TurnTable {
  table: string;
  /** Wants to run and was not let in yet. */
  isWaiting: string;
  /** Was let in and has not ended. */
  isOpen: string;
  /** What only one record at a time may work on, if there is such a thing. */
  place?: string;
  admittedAt: string;
  /** What else of a row is wanted, as a list of columns. */
  columns?: string;
  /** A condition that holds for rows of organizations that are not deleted. */
  isOfActiveOrganization: string;
}

export interface TurnLimits {
  perOrganizationMax: number;
  /** In all organizations together. */
  openMax: number;
}

const openPerLookMax = 1000;

/**
 * The record whose turn it is: of the organization with the fewest records under way the oldest one whose place is free.
 * `running` is how many the organization has under way already. What stands still in a deleted one takes nobody's turn.
 */
export async function nextInTurn<Row extends JobRecord>(
  { client }: Transaction,
  { table, isWaiting, isOpen, place, admittedAt, columns, isOfActiveOrganization }: TurnTable,
  { perOrganizationMax, openMax }: TurnLimits,
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

/** Records that were let in and have not ended, whatever state their work is in. */
export async function openRecords<Row extends JobRecord>(
  { client }: Transaction,
  { table, isOpen, admittedAt, columns, isOfActiveOrganization }: TurnTable,
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
  { table, admittedAt }: TurnTable,
  id: string,
  now: Date,
): Promise<void> {
  await client.query(`update ${table} set ${admittedAt} = $2 where id = $1`, [id, now]);
}

/** Gives every open record of an organization another admission, so that the jobs of the one it had do nothing more. */
export async function readmitOpen(
  { client }: Transaction,
  { table, isOpen, admittedAt }: TurnTable,
  organizationId: string,
): Promise<void> {
  await client.query(
    `update ${table} w set ${admittedAt} = coalesce(w.${admittedAt}, to_timestamp(0)) + interval '1 millisecond'
      where w.organization_id = $1 and ${isOpen}`,
    [organizationId],
  );
}

/** Only one process at a time lets records of a kind in. */
export async function lockTurns(transaction: Transaction, name: string): Promise<void> {
  await holdLock(transaction, 'admission', name);
}
