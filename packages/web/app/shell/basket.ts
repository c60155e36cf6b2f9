import { useSyncExternalStore } from 'react';

export interface BasketItem {
  readonly path: string;
  readonly backupId?: string;
  readonly pointInTime?: string;
  /** In words, for the list. */
  readonly from: string;
}

export interface Basket {
  readonly projectId: string | null;
  readonly items: readonly BasketItem[];
}

const empty: Basket = { projectId: null, items: [] };
const listeners = new Set<() => void>();
let [organization, basket] = ['', empty];

const keyOf = (organizationId: string) => `holdfast.basket.${organizationId}`;

function load(organizationId: string): void {
  if (organizationId === organization) return;
  organization = organizationId;
  try {
    basket = JSON.parse(sessionStorage.getItem(keyOf(organizationId)) ?? 'null') ?? empty;
  } catch {
    basket = empty;
  }
}

function store(next: Basket): void {
  basket = next.items.length === 0 ? empty : next;
  try {
    sessionStorage.setItem(keyOf(organization), JSON.stringify(basket));
  } catch {
    // It lasts as long as the page.
  }
  for (const listener of listeners) listener();
}

/** Which version of which document is picked. */
type Picked = Pick<BasketItem, 'path' | 'backupId' | 'pointInTime'>;

/** Documents picked here and there, to be restored together. One project at a time: a restore has one target. */
function isIn(one: Basket, { path, backupId, pointInTime }: Picked): boolean {
  return one.items.some((item) => item.path === path && item.backupId === backupId && item.pointInTime === pointInTime);
}

export function useBasket(organizationId: string) {
  load(organizationId);
  const current = useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => basket,
  );
  const has = (item: Picked) => isIn(current, item);
  return {
    basket: current,
    has,
    /** A restore has one target: nothing of this project can be picked until the basket is empty. */
    isOthers: (projectId: string) => current.projectId !== null && current.projectId !== projectId,
    /** False when the basket holds documents of another project. Goes by what is in it now, however old the caller is. */
    toggle: (projectId: string, item: BasketItem): boolean => {
      if (basket.projectId !== null && basket.projectId !== projectId) return false;
      // A document comes back once: another version of it takes the place of the one before.
      const others = basket.items.filter(({ path }) => path !== item.path);
      store({ projectId, items: isIn(basket, item) ? others : [...others, item] });
      return true;
    },
    clear: () => store(empty),
  };
}
