import { createContext, useContext, useEffect } from 'react';
import { t } from '../texts/index.ts';

export interface Crumb {
  readonly label: string;
  readonly to?: string;
}

export const CrumbsContext = createContext<(crumbs: readonly Crumb[]) => void>(() => undefined);

/** The path shown in the top bar and in the browser's tab; the last entry is the page itself. */
export function usePageTitle(crumbs: readonly Crumb[]): void {
  const setCrumbs = useContext(CrumbsContext);
  const key = JSON.stringify(crumbs);
  useEffect(() => {
    const read = JSON.parse(key) as Crumb[];
    setCrumbs(read);
    document.title = `${read.at(-1)?.label ?? ''} · ${t.common.product}`;
  }, [key, setCrumbs]);
}
