import { RpcError } from '../transport/status.ts';
import type { DatabaseName } from '../values/name.ts';
import type { Clock } from './clock.ts';
import { Database } from './database.ts';

export interface StoreOptions {
  readonly clock: Clock;
  /** When true, only databases made with `createDatabase` exist; otherwise any name is created on first use. */
  readonly strictDatabases: boolean;
}

/** All projects and their databases. */
export class Store {
  readonly #options: StoreOptions;
  readonly #databases = new Map<string, Database>();

  constructor(options: StoreOptions) {
    this.#options = options;
  }

  get strict(): boolean {
    return this.#options.strictDatabases;
  }

  database(name: DatabaseName): Database {
    const found = this.#databases.get(`${name.project}/${name.database}`);
    if (found !== undefined) return found;
    if (!this.#options.strictDatabases) return this.createDatabase(name);
    throw new RpcError(
      'NOT_FOUND',
      `The database ${name.database} does not exist for project ${name.project}. Please create it first.`,
    );
  }

  findDatabase(name: DatabaseName): Database | undefined {
    return this.#databases.get(`${name.project}/${name.database}`);
  }

  createDatabase(name: DatabaseName): Database {
    const key = `${name.project}/${name.database}`;
    const existing = this.#databases.get(key);
    if (existing !== undefined) return existing;
    const database = new Database({ project: name.project, database: name.database }, this.#options.clock);
    this.#databases.set(key, database);
    return database;
  }

  listDatabases(project: string): Database[] {
    return [...this.#databases.values()].filter((database) => database.name.project === project);
  }
}
