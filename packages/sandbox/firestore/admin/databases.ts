import type { Sandbox } from '../sandbox.ts';
import type { Database } from '../store/database.ts';
import { invalid } from '../transport/status.ts';
import { parseDatabaseName } from '../values/name.ts';

/** The databases of `projects/{p}`. Unless databases are strict, every project has its default one. */
export function listForAdmin(sandbox: Sandbox, token: string, parent: string): Database[] {
  const match = /^projects\/([^/]+)$/.exec(parent);
  if (match === null) throw invalid(`Invalid project name: "${parent}".`);
  const name = { project: match[1]!, database: '(default)' };
  sandbox.access.check(token, name, 'admin');
  if (!sandbox.store.strict) sandbox.store.database(name);
  return sandbox.store.listDatabases(name.project);
}

export function findForAdmin(sandbox: Sandbox, token: string, text: string): Database {
  const name = parseDatabaseName(text);
  sandbox.access.check(token, name, 'admin');
  return sandbox.store.database(name);
}
