import { NothingHere } from '../components/nothing-here.tsx';
import { usePageTitle } from '../shell/page-title.tsx';
import { t } from '../texts/index.ts';

/** Inside the shell: the way to everything else stays in sight. */
export function Page() {
  usePageTitle([{ label: t.common.notThere }]);
  return <NothingHere />;
}
