import { changesChannel } from './database/changes.sql.ts';
import type { Notices } from './database/notices.ts';

/** A change of a row of an organization. */
export interface Change {
  readonly organizationId: string;
  readonly kind: string;
  readonly id: string;
  readonly change: 'created' | 'updated' | 'deleted';
  readonly projectId: string | null;
}

type Listener = (change: Change) => void;

/** Passes changes to the followers of an organization. All followers together use one connection. */
export class Changes {
  readonly #notices: Notices;
  readonly #listeners = new Map<string, Set<Listener>>();
  #isSubscribed = false;

  constructor(notices: Notices) {
    this.#notices = notices;
  }

  /**
   * Resolves once every later change is delivered; the result stops it. Notifications can be lost, so followers have to
   * read the state now and then.
   */
  async follow(organizationId: string, listener: Listener): Promise<() => void> {
    const listeners = this.#listeners.get(organizationId) ?? new Set();
    listeners.add(listener);
    this.#listeners.set(organizationId, listeners);
    if (!this.#isSubscribed) {
      this.#isSubscribed = true;
      this.#notices.subscribe(changesChannel, (payload) => this.#tell(payload));
    }
    const stop = () => {
      listeners.delete(listener);
      if (listeners.size === 0) this.#listeners.delete(organizationId);
    };
    await this.#notices.ready().catch((error: unknown) => {
      stop();
      throw error;
    });
    return stop;
  }

  #tell(payload: string): void {
    if (payload === '') return;
    const change = JSON.parse(payload) as Change;
    for (const listener of this.#listeners.get(change.organizationId) ?? []) listener(change);
  }
}
