import { HoldfastError } from './error.ts';

/** The service sends something at least every 15 s. A dead network sends nothing, for hours. */
const silenceMsMax = 40_000;

/** An answer that is read while it is written. Leaving the loop early closes the connection. */
export class HoldfastStream<Item> implements AsyncIterable<Item> {
  readonly contentType: string;
  readonly #response: Response;
  #lastHeardMs = Date.now();

  constructor(response: Response) {
    this.#response = response;
    this.contentType = (response.headers.get('content-type') ?? '').split(';')[0]!.trim();
  }

  /** When something last arrived, by this machine's clock; comments count too. */
  get lastHeardMs(): number {
    return this.#lastHeardMs;
  }

  /** The entries of an export with one per line, or of server-sent events. */
  [Symbol.asyncIterator](): AsyncIterator<Item> {
    if (this.contentType === 'text/event-stream')
      return eventData<Item>(this.#pieces(silenceMsMax), this.#response.status);
    if (this.contentType === 'application/x-ndjson') return jsonLines<Item>(this.text());
    throw new TypeError(`An answer of type ${this.contentType} is read with text(), not entry by entry`);
  }

  /** The raw text, piece by piece as it arrives. */
  text(): AsyncGenerator<string> {
    return this.#pieces();
  }

  async *#pieces(silenceMs?: number): AsyncGenerator<string> {
    if (!this.#response.body) return;
    const reader = this.#response.body.pipeThrough(new TextDecoderStream()).getReader();
    try {
      for (;;) {
        const { done, value } = await heardWithin(silenceMs, reader.read());
        if (done) return;
        this.#lastHeardMs = Date.now();
        yield value;
      }
    } catch (cause) {
      throw new HoldfastError('NETWORK_ERROR', 'The stream broke off before its end.', {
        status: this.#response.status,
        cause,
      });
    } finally {
      await reader.cancel().catch(() => undefined);
    }
  }
}

async function heardWithin<Piece>(silenceMs: number | undefined, piece: Promise<Piece>): Promise<Piece> {
  if (silenceMs === undefined) return piece;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const silence = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`nothing was heard for ${silenceMs / 1000} s`)), silenceMs);
  });
  return Promise.race([piece, silence]).finally(() => clearTimeout(timer));
}

async function* lines(chunks: AsyncIterable<string>): AsyncGenerator<string> {
  let rest = '';
  for await (const chunk of chunks) {
    const pieces = (rest + chunk).split('\n');
    rest = pieces.pop() ?? '';
    for (const piece of pieces) yield piece.endsWith('\r') ? piece.slice(0, -1) : piece;
  }
  if (rest !== '') yield rest;
}

async function* jsonLines<Item>(chunks: AsyncIterable<string>): AsyncGenerator<Item> {
  for await (const line of lines(chunks)) if (line !== '') yield JSON.parse(line) as Item;
}

/**
 * Comments keep the connection alive and have no data; an empty line ends an event. A stopping process says when to
 * reconnect, because there is more to come from another one.
 */
async function* eventData<Item>(chunks: AsyncIterable<string>, status: number): AsyncGenerator<Item> {
  let data: string[] = [];
  let isSentAway = false;
  for await (const line of lines(chunks)) {
    if (line.startsWith('retry:')) isSentAway = true;
    if (line.startsWith('data:')) data.push(line.slice(line.startsWith('data: ') ? 6 : 5));
    if (line !== '' || data.length === 0) continue;
    yield JSON.parse(data.join('\n')) as Item;
    data = [];
  }
  if (isSentAway)
    throw new HoldfastError('NETWORK_ERROR', 'The process that told of these events stops; follow them again.', {
      status,
    });
}
