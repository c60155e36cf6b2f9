import { useRouterState } from '@tanstack/react-router';
import { useEffect, useRef } from 'react';
import { contentId, focusPage } from '../components/give-back-focus.ts';

/** After navigation the focus moves to the page's title, unless it is still on an element of the page. */
export function useFocusAfterNavigation(): void {
  const pathname = useRouterState({ select: ({ resolvedLocation }) => resolvedLocation?.pathname });
  const before = useRef(pathname);
  useEffect(() => {
    if (before.current !== undefined && before.current !== pathname) {
      const inPage = document.activeElement?.closest(`#${contentId}, dialog`);
      if (!inPage || inPage === document.activeElement) focusPage();
    }
    before.current = pathname;
  }, [pathname]);
}

/** A lazily loaded page takes the focus once it is there. */
export function useFocusWhenItComes(): void {
  useEffect(() => {
    if (document.activeElement?.id === contentId) focusPage();
  }, []);
}
