import { useEffect } from 'react';
import { announce } from '../components/announcer.tsx';
import { PageSkeleton } from '../shell/page.tsx';
import { usePageTitle } from '../shell/page-title.tsx';
import { t } from '../texts/index.ts';

/** Shown while the file of a page is fetched, in place of the previous page. */
export function PageLoading() {
  const { loading } = t.common;
  usePageTitle([{ label: loading }]);
  useEffect(() => {
    announce(loading);
    return () => announce('');
  }, [loading]);
  return <PageSkeleton isLate />;
}
