import type { AccessControl, AccessKind } from './access.ts';
import type { Counters } from './counters.ts';
import type { Faults } from './faults/faults.ts';
import type { ListenBehaviour } from './listen/behaviour.ts';
import type { Database } from './store/database.ts';
import type { Store } from './store/store.ts';
import type { Call } from './transport/call.ts';
import type { DatabaseName } from './values/name.ts';

/** What every RPC uses. */
export interface Sandbox {
  readonly store: Store;
  readonly access: AccessControl;
  readonly counters: Counters;
  readonly faults: Faults;
  /** Makes every open listen stream reset its targets. */
  readonly listenResets: Set<() => void>;
  /** The guarantees for listeners; changed by `control.setListenMode`. */
  listen: ListenBehaviour;
  /** How often a quiet listen stream says that nothing has happened so far. */
  readonly listenHeartbeatMs: number;
}

/** The database of a call, after the caller was authorized. */
export function openDatabase(sandbox: Sandbox, call: Call, name: DatabaseName, access: AccessKind): Database {
  sandbox.access.check(call.token, name, access);
  return sandbox.store.database(name);
}
