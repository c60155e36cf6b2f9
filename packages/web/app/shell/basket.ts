import { useSyncExternalStore } from 'react';

export interface BasketItem {
  readonly path: string;
  readonly backupId?: string;
  readonly pointInTime?: string;
  /** As text, for the list. */
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
    // Storage is blocked: the choice lasts as long as the page.
  }
  for (const listener of listeners) listener();
}

/** The picked version of a document. */
type Picked = Pick<BasketItem, 'path' | 'backupId' | 'pointInTime'>;

/** The basket: picked documents to be restored together. One project at a time, because a restore has one target. */
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
    /** The basket holds documents of another project: nothing of this one can be picked. */
    isOthers: (projectId: string) => current.projectId !== null && current.projectId !== projectId,
    /** False when the basket holds documents of another project. Reads the current basket, not the caller's copy. */
    toggle: (projectId: string, item: BasketItem): boolean => {
      if (basket.projectId !== null && basket.projectId !== projectId) return false;
      // One version per document: a newly picked one replaces the former.
      const others = basket.items.filter(({ path }) => path !== item.path);
      store({ projectId, items: isIn(basket, item) ? others : [...others, item] });
      return true;
    },
    clear: () => store(empty),
  };
}
