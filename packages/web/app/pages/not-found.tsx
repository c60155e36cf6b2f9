import { NothingHere } from '../components/nothing-here.tsx';
import { usePageTitle } from '../shell/page-title.tsx';
import { t } from '../texts/index.ts';

/** Inside the shell, so that the navigation stays. */
export function Page() {
  usePageTitle([{ label: t.common.notThere }]);
  return <NothingHere />;
}
