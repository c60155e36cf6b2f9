import type { ItemOf, Operations } from '@holdfast/contract';

type Webhook = Pick<ItemOf<Operations['listWebhooks']>, 'enabled' | 'failingSince' | 'disabledBecause'>;

interface Standing {
  readonly tone: 'held' | 'risk' | 'off';
  readonly word: 'enabled' | 'failing' | 'disabled';
}

/** How a webhook does, in one colour wherever it is told. What the service switched off wants somebody; what a person did does not. */
export function standingOf({ enabled, failingSince, disabledBecause }: Webhook): Standing {
  if (!enabled) return { tone: disabledBecause ? 'risk' : 'off', word: 'disabled' };
  return failingSince ? { tone: 'risk', word: 'failing' } : { tone: 'held', word: 'enabled' };
}
