import { minuteMs } from './durations.ts';

const yieldForMs = minuteMs;

/**
 * Organizations whose work of a kind was just postponed, because what it calls does not answer. Their other waiting jobs
 * would probably wait in vain too, so others go first.
 */
export class YieldingOrganizations {
  /** By kind, then by organization: until when. */
  readonly #until = new Map<string, Map<string, number>>();

  add(kind: string, organizationId: string | null): void {
    if (organizationId === null) return;
    const ofKind = this.#until.get(kind) ?? new Map<string, number>();
    this.#until.set(kind, ofKind.set(organizationId, performance.now() + yieldForMs));
  }

  has(kind: string, organizationId: string | null): boolean {
    return organizationId !== null && this.of(kind).includes(organizationId);
  }

  of(kind: string): string[] {
    const ofKind = this.#until.get(kind);
    if (!ofKind) return [];
    for (const [organizationId, untilMs] of ofKind) if (untilMs <= performance.now()) ofKind.delete(organizationId);
    return [...ofKind.keys()];
  }
}
