import { writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { requirePeer } from '../peers/install.ts';
import type { Contender } from './contender.ts';

interface AdminApp {
  initializeApp(options: { projectId: string }, name: string): unknown;
}
interface AdminFirestore {
  getFirestore(app: unknown): unknown;
}

/** It brings its own Admin SDK; connecting through that one spares it a service account. */
const ownRequire = createRequire(requirePeer.resolve('firestore-export-import'));
const { backup } = requirePeer('firestore-export-import') as {
  backup: (database: unknown, collection: string) => Promise<Record<string, Record<string, unknown>>>;
};
const { initializeApp } = ownRequire('firebase-admin/app') as AdminApp;
const { getFirestore } = ownRequire('firebase-admin/firestore') as AdminFirestore;
let apps = 0;

export const firestoreExportImport: Contender = async ({ project, collection, folder }) => {
  apps += 1;
  const database = getFirestore(initializeApp({ projectId: project }, `bench-${apps}`));
  const data = await backup(database, collection);
  await writeFile(join(folder, 'firestore-export-import.json'), JSON.stringify(data));
  return { documents: Object.keys(data[collection] ?? {}).length };
};
