import type { AccessControl, AccessKind } from './access.ts';
import type { Counters } from './counters.ts';
import type { Faults } from './faults/faults.ts';
import type { ListenBehaviour } from './listen/behaviour.ts';
import type { Database } from './store/database.ts';
import type { Store } from './store/store.ts';
import type { Call } from './transport/call.ts';
import type { DatabaseName } from './values/name.ts';

/** What every RPC works with. */
export interface Sandbox {
  readonly store: Store;
  readonly access: AccessControl;
  readonly counters: Counters;
  readonly faults: Faults;
  /** Makes every open listen stream reset its targets. */
  readonly listenResets: Set<() => void>;
  /** What listeners may rely on; changed by `control.setListenMode`. */
  listen: ListenBehaviour;
  /** How often a quiet listen stream tells that nothing has happened up to now. */
  readonly listenHeartbeatMs: number;
}

/** The database a call is about, once the caller has been let in. */
export function openDatabase(sandbox: Sandbox, call: Call, name: DatabaseName, access: AccessKind): Database {
  sandbox.access.check(call.token, name, access);
  return sandbox.store.database(name);
}
