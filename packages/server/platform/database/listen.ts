import type pg from 'pg';
import type { Logger } from '../log.ts';

const reconnectMs = 1000;

/**
 * Calls back on every notification of the channels, and once after each (re)connection, because what was announced
 * meanwhile went unheard. Only a hint: whoever listens polls as well. Returns how to stop.
 */
export function listen(
  pool: pg.Pool,
  channels: readonly string[],
  log: Logger,
  onNotice: (channel: string) => void,
): () => Promise<void> {
  let client: pg.PoolClient | undefined;
  let timer: NodeJS.Timeout | undefined;
  let stopped = false;

  const lose = (error: unknown) => {
    if (stopped) return;
    log.warn({ err: error }, 'lost the connection that listens for notices; connecting again');
    client?.release(true);
    client = undefined;
    timer = setTimeout(() => void connect().catch(lose), reconnectMs);
  };

  const connect = async () => {
    const fresh = await pool.connect();
    if (stopped) return fresh.release();
    client = fresh;
    fresh.on('error', lose);
    fresh.on('notification', ({ channel }) => onNotice(channel));
    await fresh.query(channels.map((channel) => `listen ${channel}`).join(';'));
    for (const channel of channels) onNotice(channel);
  };

  const ready = connect().catch(lose);
  return async () => {
    stopped = true;
    clearTimeout(timer);
    await ready;
    // Destroyed rather than given back: the next user of the connection must not inherit its subscriptions.
    client?.release(true);
  };
}
