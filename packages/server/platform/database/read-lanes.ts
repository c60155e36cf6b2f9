import type { Duplex } from 'node:stream';
import pg from 'pg';
import { corkUntilDone } from './cork.ts';
import { knownRowReader, learnRowReader, type ResultField, type ResultRow, type Statement } from './statement.ts';

const lanesMax = 4;
/** A lane with more open reads than this gets a second one. */
const busyReads = 16;
const assumeTenantRole = {
  name: 'holdfast_assume_tenant_role',
  text: `select set_config('role', 'holdfast_tenant', true), set_config('holdfast.organization_id', $1, true)`,
};

/**
 * Reads of one statement, in one round trip each. A lane is a connection that many callers share: reads follow each
 * other without waiting for answers, and all reads of one turn are sent in one write. Each read is its own transaction:
 * it assumes the tenant's role and organization, reads, and ends them.
 */
export class ReadLanes {
  readonly #config: pg.ClientConfig;
  readonly #onBroken: (error: Error) => void;
  #lanes: Lane[] = [];
  #isClosed = false;

  constructor(config: pg.ClientConfig, onBroken: (error: Error) => void) {
    this.#config = config;
    this.#onBroken = onBroken;
  }

  /** With an organization the read assumes its role; without one it assumes none and reaches only functions. */
  async read<Values, Row>(
    organizationId: string | null,
    statement: Statement<Values, Row>,
    values: Values,
  ): Promise<Row[]> {
    const lane = this.#pick();
    lane.underWay += 1;
    try {
      if (!lane.isOpen) await lane.opened;
      return await lane.read(organizationId, statement, values);
    } finally {
      lane.underWay -= 1;
    }
  }

  /** Later reads take new connections; open ones are answered first. */
  renew(): void {
    const former = this.#lanes;
    this.#lanes = [];
    for (const lane of former) void lane.close().catch(this.#onBroken);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.all(this.#lanes.map((lane) => lane.close()));
  }

  #pick(): Lane {
    let best: Lane | undefined;
    for (const lane of this.#lanes) if (!best || lane.underWay < best.underWay) best = lane;
    if (best && (best.underWay < busyReads || this.#lanes.length >= lanesMax)) return best;
    if (this.#isClosed) throw new Error('the database is closed');
    const lane = new Lane(this.#config, (error) => {
      this.#lanes = this.#lanes.filter((other) => other !== lane);
      this.#onBroken(error);
    });
    this.#lanes.push(lane);
    return lane;
  }
}

class Lane {
  readonly #client: pg.Client;
  readonly opened: Promise<void>;
  isOpen = false;
  underWay = 0;

  constructor(config: pg.ClientConfig, onBroken: (error: Error) => void) {
    this.#client = new pg.Client({ ...config, pipeline: true } as pg.ClientConfig);
    this.#client.on('error', onBroken);
    this.opened = this.#open();
    this.opened.catch(onBroken);
  }

  async #open(): Promise<void> {
    await this.#client.connect();
    await this.#client.query({ ...assumeTenantRole, values: [''] });
    this.isOpen = true;
  }

  async read<Values, Row>(
    organizationId: string | null,
    statement: Statement<Values, Row>,
    values: Values,
  ): Promise<Row[]> {
    return await new Promise<Row[]>((resolve, reject) => {
      this.#client.query(
        new PipelinedRead(organizationId, statement, statement.bind(values), resolve, reject) as never,
      );
    });
  }

  async close(): Promise<void> {
    await this.opened.catch(() => undefined);
    await this.#client.end();
  }
}

/** The part of the driver's connection that a read writes to. */
interface Wire {
  readonly stream: Duplex;
  readonly parsedStatements: Record<string, string>;
  readonly submittedNamedStatements: Record<string, string>;
  parse(message: { name: string; text: string }): void;
  bind(message: { portal: string; statement: string; values: readonly (string | null)[] }): void;
  describe(message: { type: 'P'; name: string }): void;
  execute(message: { portal: string }): void;
  sync(): void;
}

const nothing = { text: '' };

/** The driver only pipelines its own kind of query. */
class PipelinedRead<Values, Row> extends (pg.Query as unknown as new (config: { text: string }) => object) {
  readonly name: string;
  readonly text: string;
  readonly #organizationId: string | null;
  readonly #statement: Statement<Values, Row>;
  readonly #values: readonly (string | null)[];
  readonly #resolve: (rows: Row[]) => void;
  readonly #reject: (error: Error) => void;
  readonly #rows: Row[] = [];
  #isAssumingRole: boolean;
  #failure: Error | undefined;

  constructor(
    organizationId: string | null,
    statement: Statement<Values, Row>,
    values: readonly unknown[],
    resolve: (rows: Row[]) => void,
    reject: (error: Error) => void,
  ) {
    super(nothing);
    this.name = statement.name;
    this.text = statement.text;
    this.#organizationId = organizationId;
    this.#statement = statement;
    // Done before anything is sent: half a message would shift the answers of all later reads.
    this.#values = values.map(asText);
    this.#resolve = resolve;
    this.#reject = reject;
    this.#isAssumingRole = organizationId !== null;
  }

  submit(wire: Wire): null {
    corkUntilDone(wire.stream);
    if (this.#organizationId !== null) {
      wire.bind({ portal: '', statement: assumeTenantRole.name, values: [this.#organizationId] });
      wire.execute({ portal: '' });
    }
    if (!(this.name in wire.parsedStatements) && !(this.name in wire.submittedNamedStatements)) {
      wire.parse({ name: this.name, text: this.text });
      wire.submittedNamedStatements[this.name] = this.text;
    }
    wire.bind({ portal: '', statement: this.name, values: this.#values });
    if (!knownRowReader(this.#statement)) wire.describe({ type: 'P', name: '' });
    wire.execute({ portal: '' });
    wire.sync();
    return null;
  }

  handleRowDescription({ fields }: { fields: readonly ResultField[] }): void {
    learnRowReader(this.#statement, fields);
  }

  handleDataRow({ fields }: { fields: ResultRow }): void {
    if (this.#isAssumingRole || this.#failure) return;
    try {
      this.#rows.push(knownRowReader(this.#statement)!(fields));
    } catch (error) {
      this.#failure = error as Error;
    }
  }

  handleCommandComplete(): void {
    this.#isAssumingRole = false;
  }

  handleReadyForQuery(): void {
    if (this.#failure) this.#reject(this.#failure);
    else this.#resolve(this.#rows);
  }

  handleError(error: Error): void {
    this.#reject(error);
  }
}

function asText(value: unknown): string | null {
  if (value === null || value === undefined) return null;
  if (typeof value === 'string') return value;
  if (value instanceof Date) return value.toISOString();
  if (Array.isArray(value)) return `{${value.map(asElement).join()}}`;
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  throw new TypeError('a read takes text, numbers, instants, truth values and lists of text');
}

/** A text inside a PostgreSQL array. */
function asElement(value: unknown): string {
  if (typeof value !== 'string') throw new TypeError('a list in a read is a list of text');
  return `"${value.replace(/["\\]/g, '\\$&')}"`;
}
