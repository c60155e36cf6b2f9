import { NamedSemaphore } from './named-semaphore.ts';

/**
 * At most this many queries at once: more would open a connection each, which costs the database more than the query.
 */
const queriesAtOnceMax = 2;

/** The queue's database client as its callers use it. */
type Execute<Answer> = (text: string, values?: unknown[]) => Promise<Answer>;

interface Asker<Answer> {
  resolve(answer: Answer): void;
  reject(error: unknown): void;
}

/** How a place asks for a job. */
const isJobQuery = (text: string) => text.includes('next AS (') && text.includes('SKIP LOCKED');

/**
 * All idle places of a kind ask for the same job at the same moment: at the start, and whenever a job is announced.
 * Here one query is sent for all that wait. Its job goes to the first of them, and the query is repeated for the
 * others; when it finds nothing, there is nothing for any of them. A query that was already running never answers a
 * later question, because a job may have been announced in between.
 */
export function shareJobQueries<Answer extends { rows: unknown[] }>(execute: Execute<Answer>): Execute<Answer> {
  const places = new NamedSemaphore(queriesAtOnceMax);
  const waiting = new Map<string, Asker<Answer>[]>();
  const take = (key: string) => {
    const askers = waiting.get(key) ?? [];
    waiting.set(key, []);
    return askers;
  };
  const ask = async (key: string, text: string, values?: unknown[]) => {
    while (waiting.get(key)?.length) {
      let askers: Asker<Answer>[] = [];
      try {
        const answer = await places.run('queries', () => {
          askers = take(key);
          return execute(text, values);
        });
        const [first, ...others] = askers;
        first?.resolve(answer);
        if (answer.rows.length > 0) waiting.set(key, [...others, ...take(key)]);
        else for (const asker of others) asker.resolve(answer);
      } catch (error) {
        for (const asker of askers) asker.reject(error);
      }
    }
    waiting.delete(key);
  };
  return (text, values) => {
    if (!isJobQuery(text)) return execute(text, values);
    const key = JSON.stringify([text, values]);
    return new Promise<Answer>((resolve, reject) => {
      const others = waiting.get(key);
      if (others) others.push({ resolve, reject });
      else {
        waiting.set(key, [{ resolve, reject }]);
        // NamedSemaphore that were woken in the same turn ask in the same turn.
        setImmediate(() => void ask(key, text, values));
      }
    });
  };
}
