import { AccessControl, type Authorize } from './access.ts';
import { Control } from './control.ts';
import { serveControl } from './control-server.ts';
import { Counters } from './counters.ts';
import { Faults } from './faults/faults.ts';
import { type ListenBehaviour, type ListenMode, listenBehaviour } from './listen/behaviour.ts';
import { answerRest } from './rest/answer.ts';
import { allMethods } from './rpc/methods.ts';
import type { Sandbox } from './sandbox.ts';
import { type Clock, systemClock } from './store/clock.ts';
import { Store } from './store/store.ts';
import { Dispatcher } from './transport/dispatch.ts';
import { listen } from './transport/listener.ts';

const listenHeartbeatMs = 5000;

export interface FirestoreSandboxOptions {
  /** Where to listen (127.0.0.1, any free port). */
  readonly host?: string;
  readonly port?: number;
  readonly clock?: Clock;
  /** Only databases made through `control.createDatabase` exist (false: they appear on first use). */
  readonly strictDatabases?: boolean;
  /** Decides about bearer tokens; absent, every token may do everything. */
  readonly authorize?: Authorize;
  /** Offers the control API as JSON over HTTP on this port, 0 for any free one (absent: not at all). */
  readonly controlPort?: number;
  /** The guarantees for listeners (`generous`), in detail. */
  readonly listenMode?: ListenMode;
  readonly listen?: Partial<ListenBehaviour>;
  /** How often a quiet listen stream says that nothing has happened (5000). */
  readonly listenHeartbeatMs?: number;
}

export interface FirestoreSandbox {
  readonly host: string;
  readonly port: number;
  /** `host:port`, as FIRESTORE_EMULATOR_HOST wants it. */
  readonly address: string;
  readonly control: Control;
  readonly controlPort: number | null;
  /** Closes every connection and frees the port. */
  stop(): Promise<void>;
}

export async function startFirestoreSandbox(options: FirestoreSandboxOptions = {}): Promise<FirestoreSandbox> {
  const sandbox: Sandbox = {
    store: new Store({ clock: options.clock ?? systemClock, strictDatabases: options.strictDatabases ?? false }),
    access: new AccessControl(options.authorize ?? null),
    counters: new Counters(),
    faults: new Faults(),
    listenResets: new Set(),
    listen: listenBehaviour(options.listenMode ?? 'generous', options.listen),
    listenHeartbeatMs: options.listenHeartbeatMs ?? listenHeartbeatMs,
  };
  const dispatcher = new Dispatcher(allMethods(sandbox), {
    before: (call) => {
      sandbox.counters.method(call.method).calls += 1;
      return sandbox.faults.before(call);
    },
    after: (call, error) => {
      const counters = sandbox.counters.method(call.method);
      counters.bytesSent += call.bytesSent;
      if (error !== null) counters.errors += 1;
    },
  });
  const listener = await listen({
    host: options.host ?? '127.0.0.1',
    port: options.port ?? 0,
    onStream: (stream, headers) => dispatcher.accept(stream, headers),
    onRequest: (request, response) => answerRest(sandbox, dispatcher, request, response),
  });
  const { host, port } = listener;
  const control = new Control(sandbox);
  const controlServer =
    options.controlPort === undefined ? null : await serveControl(control, host, options.controlPort);
  return {
    host,
    port,
    address: `${host}:${port}`,
    control,
    controlPort: controlServer?.port ?? null,
    stop: async () => {
      await Promise.all([listener.stop(), controlServer?.stop()]);
    },
  };
}
