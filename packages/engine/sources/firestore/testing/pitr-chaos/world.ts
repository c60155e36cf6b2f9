/** The database that a chaos is lived in, and what it knows of its own history. */

import { versionBytes } from '../../../../../sandbox/firestore/store/document.ts';
import { pathFromKey } from '../../../../../sandbox/firestore/values/key.ts';
import { type ListenBehaviour, type ListenMode, startFirestoreSandbox } from '../../../../../sandbox/index.ts';
import { type Instant, instantFromParts, recordKind } from '../../../../ports/index.ts';
import type { ForeignKind } from '../../../../testing/foreign-firestore.ts';
import { putChange } from '../../capture/changes.ts';
import { type ConnectedFirestore, connectFirestore } from '../../connect.ts';
import { forEachRecord } from '../../scan/records.ts';
import { type TestRecord, write } from '../firestore-harness.ts';

const name = { project: 'chaos', database: '(default)' };

export interface Version {
  readonly at: Instant;
  /** Null: deleted. */
  readonly hex: string | null;
}

export interface ChaosWorld {
  readonly connected: ConnectedFirestore;
  /** Every version of every path, ascending. */
  readonly history: Map<string, Version[]>;
  write(records: readonly TestRecord[]): Promise<void>;
  behave(more: Partial<ListenBehaviour>): void;
  moveClock(ms: number): void;
  stop(): Promise<void>;
}

/** Our own sandbox, which tells of each commit itself and can be made to behave badly. */
export async function startSandboxWorld(mode: ListenMode): Promise<ChaosWorld> {
  const sandbox = await startFirestoreSandbox({ listenMode: mode, listenHeartbeatMs: 50 });
  const connected = connect(sandbox.address);
  const history = new Map<string, Version[]>();
  sandbox.control.database(name).commitListeners.add((entries, micros) => {
    const at = instantFromParts(Math.floor(micros / 1e6), (micros % 1e6) * 1000);
    for (const { key, newest } of entries) {
      const hex = newest!.length === 0 ? null : versionBytes(newest!).toString('hex');
      note(history, pathFromKey(key), { at, hex });
    }
  });
  return {
    connected,
    history,
    write: (records) => write(connected, records),
    behave: (more) => sandbox.control.setListenMode(mode, more),
    moveClock: (ms) => sandbox.control.moveClock(name, ms),
    stop: async () => {
      await connected.close();
      await sandbox.stop();
    },
  };
}

/** A Firestore that others wrote: its history is read back after every write, and it behaves as it does. */
export async function startForeignWorld(kind: ForeignKind): Promise<ChaosWorld> {
  const foreign = await kind.start();
  const connected = connect(foreign.address);
  const history = new Map<string, Version[]>();
  return {
    connected,
    history,
    write: async (records) => {
      // Puts and deletes apart: the moment of a delete is known only to lie between two others.
      for (const isPut of [true, false]) {
        const some = records.filter(({ fields }) => (fields !== undefined) === isPut);
        if (some.length > 0) await writeAndNote(connected, history, some);
      }
    },
    behave: () => undefined,
    moveClock: () => undefined,
    stop: async () => {
      await connected.close();
      await foreign.stop();
    },
  };
}

async function writeAndNote(
  connected: ConnectedFirestore,
  history: Map<string, Version[]>,
  records: readonly TestRecord[],
): Promise<void> {
  await write(connected, records);
  const { source } = connected;
  const readTime = await source.snapshotTime();
  const paths = records.map(({ path }) => path);
  const left = new Set(paths);
  for await (const batch of source.fetch(paths, { readTime })) {
    forEachRecord(batch, (bytes, { kind, bodyStart, end }) => {
      if (kind !== recordKind.put) return;
      const { path, at, body } = putChange(Buffer.from(bytes.subarray(bodyStart, end)));
      left.delete(path);
      note(history, path, { at, hex: body.toString('hex') });
    });
  }
  for (const path of left) note(history, path, { at: readTime, hex: null });
}

function note(history: Map<string, Version[]>, path: string, version: Version): void {
  const versions = history.get(path) ?? [];
  versions.push(version);
  history.set(path, versions);
}

function connect(host: string): ConnectedFirestore {
  const retry = { attemptsMax: 1000, delayBaseMs: 2, delayMaxMs: 30 };
  return connectFirestore({ projectId: name.project, connection: { type: 'emulator', host }, retry });
}
