import { readRaw } from '../raw-reader.ts';
import { type PreparedWrites, prepareWrites, writeRaw } from '../raw-writer.ts';
import type { Contender } from './contender.ts';

let prepared: PreparedWrites | undefined;

/** The bare wire: reads and throws away, or sends what was prepared before the clock ran. */
export const raw: Contender = async ({ address, project, collection, targetProject, do: task }) => {
  if (task === 'backup') return { documents: (await readRaw(address, project, collection)).messages };
  if (task === 'prepare') {
    prepared = await prepareWrites(address, { project, collection, targetProject: targetProject ?? project });
    return { documents: prepared.documents };
  }
  if (task !== 'restore' || prepared === undefined) throw new Error(`The bare wire cannot ${task}.`);
  await writeRaw(address, prepared);
  return { documents: prepared.documents };
};
