import { useEffect } from 'react';
import { announce } from '../components/announcer.tsx';
import { PageSkeleton } from '../shell/page.tsx';
import { usePageTitle } from '../shell/page-title.tsx';
import { t } from '../texts/index.ts';

/** Stands where a page will, while its file is fetched: the page before is not what was asked for. */
export function PageOnItsWay() {
  const { loading } = t.common;
  usePageTitle([{ label: loading }]);
  useEffect(() => {
    announce(loading);
    return () => announce('');
  }, [loading]);
  return <PageSkeleton isLate />;
}
