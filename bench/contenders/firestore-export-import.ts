import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { backup, initializeFirebaseApp } from 'firestore-export-import';
import type { Contender } from './contender.ts';

let apps = 0;

export const firestoreExportImport: Contender = async ({ project, collection, folder }) => {
  apps += 1;
  const database = initializeFirebaseApp({ projectId: project }, `bench-${apps}`);
  const data = await backup<Record<string, Record<string, unknown>>>(database, collection);
  await writeFile(join(folder, 'firestore-export-import.json'), JSON.stringify(data));
  return { documents: Object.keys(data[collection] ?? {}).length };
};
