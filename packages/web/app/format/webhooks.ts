import type { ItemOf, Operations } from '@holdfast/contract';

type Webhook = Pick<ItemOf<Operations['listWebhooks']>, 'enabled' | 'failingSince' | 'disabledBecause'>;

interface Standing {
  readonly tone: 'held' | 'risk' | 'off';
  readonly word: 'enabled' | 'failing' | 'disabled';
}

/** The state and colour of a webhook, the same everywhere. One that the service disabled needs attention; one that a person disabled does not. */
export function standingOf({ enabled, failingSince, disabledBecause }: Webhook): Standing {
  if (!enabled) return { tone: disabledBecause ? 'risk' : 'off', word: 'disabled' };
  return failingSince ? { tone: 'risk', word: 'failing' } : { tone: 'held', word: 'enabled' };
}
