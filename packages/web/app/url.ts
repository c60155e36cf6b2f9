import { useLocation, useNavigate, useParams } from '@tanstack/react-router';
import { useEffect, useMemo, useRef } from 'react';
import { useWorkplace } from './api/organization.tsx';
import { type Paths, pathsOf } from './paths.ts';

export function usePaths(): Paths {
  const { slug } = useWorkplace().organization;
  return useMemo(() => pathsOf(slug), [slug]);
}

/** A part of the address, decoded. */
export function useParam(name: string): string {
  const params = useParams({ strict: false }) as Record<string, string | undefined>;
  return params[name] ?? '';
}

interface ChangeOptions {
  replace?: boolean;
  /** What is filled in here has lost its meaning: nobody is asked whether to leave it. */
  evenUnsaved?: boolean;
}

/** What is chosen lives in the address: it can be shared, and going back undoes it. */
export function useSearch(): [
  search: Readonly<Record<string, string | undefined>>,
  change: (change: Record<string, string | undefined>, options?: ChangeOptions) => Promise<void>,
] {
  // The router turns what looks like a number into one; here everything is the text it was.
  const given = useLocation().search as Record<string, unknown>;
  const search = Object.fromEntries(
    Object.entries(given).map(([name, value]) => [name, value === undefined ? undefined : String(value)]),
  );
  const navigate = useNavigate();
  const change = (next: Record<string, string | undefined>, options: ChangeOptions = {}) => {
    const merged = Object.fromEntries(Object.entries({ ...search, ...next }).filter(([, value]) => value));
    const { replace = false, evenUnsaved = false } = options;
    return navigate({ to: '.', search: merged as never, replace, ignoreBlocker: evenUnsaved });
  };
  return [search, change];
}

interface GoOptions extends ChangeOptions {
  /** What the service said of the deed that led there. */
  notice?: string;
}

/**
 * Whether what asks is still where it was: an answer may come after somebody has left. What goes from the page while the
 * address stays, as something that was deleted does, has not been left by anybody.
 */
export function useIsHere(): () => boolean {
  const isShown = useRef(true);
  const address = useRef('');
  useEffect(() => {
    address.current = window.location.href;
  });
  useEffect(() => {
    isShown.current = true;
    return () => {
      isShown.current = false;
    };
  }, []);
  return () => isShown.current || window.location.href === address.current;
}

/** Leads on from here. Who has left already is not led away from where they are now. */
export function useGo(): (to: string, options?: GoOptions) => void {
  const navigate = useNavigate();
  const isHere = useIsHere();
  return (to, { replace = false, notice, evenUnsaved = false } = {}) => {
    if (!isHere()) return;
    void navigate({
      to,
      replace,
      ignoreBlocker: evenUnsaved,
      ...(notice === undefined ? {} : { state: { notice } as never }),
    });
  };
}

/** What the way here brought along, until one goes on. */
export function useNotice(): string | undefined {
  return (useLocation().state as { notice?: string }).notice;
}
