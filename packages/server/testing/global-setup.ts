import { statfs } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import type { TestProject } from 'vitest/node';
import { startTemplateDatabase } from './template-database.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** The owner's connection to a migrated, empty database: the template that every test database is copied from. */
    templateUrl: string;
  }
}

const memoryFolder = '/dev/shm';
const memoryBytesMin = 4 * 1024 ** 3;

/** One real PostgreSQL for the whole test run. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const template = await startTemplateDatabase((await hasMemoryFolder()) ? memoryFolder : tmpdir());
  project.provide('templateUrl', template.url);
  return template.stop;
}

/** Every copy of the template creates and removes hundreds of files, which takes twice the processor time on a disk. */
async function hasMemoryFolder(): Promise<boolean> {
  const room = await statfs(memoryFolder).catch(() => undefined);
  return room !== undefined && room.bavail * room.bsize >= memoryBytesMin;
}
