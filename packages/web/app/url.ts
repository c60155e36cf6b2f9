import { useLocation, useNavigate, useParams } from '@tanstack/react-router';
import { useEffect, useMemo, useRef } from 'react';
import { useWorkplace } from './api/organization.tsx';
import { type Paths, pathsOf } from './paths.ts';

export function usePaths(): Paths {
  const { slug } = useWorkplace().organization;
  return useMemo(() => pathsOf(slug), [slug]);
}

/** A decoded parameter of the address. */
export function useParam(name: string): string {
  const params = useParams({ strict: false }) as Record<string, string | undefined>;
  return params[name] ?? '';
}

interface ChangeOptions {
  replace?: boolean;
  /** Leaves without asking about unsaved input, which no longer matters. */
  evenUnsaved?: boolean;
}

/** The search parameters. Choices are kept in the address, so that they can be shared and undone by going back. */
export function useSearch(): [
  search: Readonly<Record<string, string | undefined>>,
  change: (change: Record<string, string | undefined>, options?: ChangeOptions) => Promise<void>,
] {
  // The router parses numbers; here every value is a string.
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
  /** A message of the service, shown on the page it leads to. */
  notice?: string;
}

/**
 * Whether the component's page is still open: an answer may come after the person has left. A component that was unmounted
 * while the address stayed, such as a deleted record, counts as still open.
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

/** Navigates, unless the person has left this page meanwhile. */
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

/** The message that came with the navigation to this page. */
export function useNotice(): string | undefined {
  return (useLocation().state as { notice?: string }).notice;
}
