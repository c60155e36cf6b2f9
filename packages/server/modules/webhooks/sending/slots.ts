/** Limits of one process. A webhook starts in the middle, so that a burst does not open all its connections at once. */
const perWebhookMax = 16;
export const perWebhookInitial = 4;
const perWebhookMin = 2;
export const perOrganizationMax = 128;
const totalMax = 1024;

interface Use {
  inFlight: number;
  limit: number;
}

/**
 * Limits who may send how much at once, so that an endpoint that hangs delays nobody else. A webhook has a few slots,
 * and an organization a share of all. Endpoints that answer gain slots; those that time out lose them.
 */
export class Slots {
  readonly #webhooks = new Map<string, Use>();
  readonly #organizations = new Map<string, number>();
  #inFlight = 0;

  get free(): number {
    return totalMax - this.#inFlight;
  }

  get inFlight(): number {
    return this.#inFlight;
  }

  take(webhookId: string, organizationId: string): void {
    this.#inFlight++;
    this.#use(webhookId).inFlight++;
    this.#organizations.set(organizationId, (this.#organizations.get(organizationId) ?? 0) + 1);
  }

  give(webhookId: string, organizationId: string, outcome: { timedOut: boolean }): void {
    this.#inFlight--;
    const use = this.#use(webhookId);
    use.inFlight--;
    use.limit = outcome.timedOut
      ? Math.max(perWebhookMin, Math.floor(use.limit / 2))
      : Math.min(perWebhookMax, use.limit + 1);
    // Only a reduced limit is remembered while nothing is sent, so the map does not grow with the number of webhooks.
    if (use.inFlight === 0 && use.limit >= perWebhookInitial) this.#webhooks.delete(webhookId);
    const left = (this.#organizations.get(organizationId) ?? 1) - 1;
    if (left === 0) this.#organizations.delete(organizationId);
    else this.#organizations.set(organizationId, left);
  }

  /** The room of webhooks and organizations that have less than the full room. */
  room(): { webhooks: Map<string, number>; organizations: Map<string, number> } {
    const webhooks = new Map([...this.#webhooks].map(([id, use]) => [id, Math.max(0, use.limit - use.inFlight)]));
    const organizations = new Map(
      [...this.#organizations].map(([id, inFlight]) => [id, Math.max(0, perOrganizationMax - inFlight)]),
    );
    return { webhooks, organizations };
  }

  #use(webhookId: string): Use {
    const use = this.#webhooks.get(webhookId) ?? { inFlight: 0, limit: perWebhookInitial };
    this.#webhooks.set(webhookId, use);
    return use;
  }
}
