import { RotateCcw } from 'lucide-react';
import { useCan, useWorkplace } from '../../api/organization.tsx';
import { Button, LinkButton } from '../../components/button.tsx';
import { useBasket } from '../../shell/basket.ts';
import { t } from '../../texts/index.ts';
import { usePaths } from '../../url.ts';

/** Beside a list whose rows are ticked: what is ticked, here and elsewhere in the project, comes back together. */
export function RestoreSelected({ projectId }: { projectId: string }) {
  const { basket, clear } = useBasket(useWorkplace().organization.id);
  const canRestore = useCan('member');
  const paths = usePaths();
  if (!canRestore || basket.items.length === 0) return null;
  // A restore has one target: rows of this project cannot be ticked until the others are gone.
  if (basket.projectId !== projectId)
    return (
      <p role="status" className="text-table text-ink2">
        {t.shell.basket.oneProject}{' '}
        <button type="button" onClick={clear} className="font-medium text-held hover:underline">
          {t.shell.basket.clear}
        </button>
      </p>
    );
  return (
    <div className="flex flex-wrap gap-1">
      <LinkButton kind="primary" icon={RotateCcw} to={paths.newRestore({ basket: '1' })}>
        {t.browse.restoreSelected(basket.items.length)}
      </LinkButton>
      <Button kind="quiet" onClick={clear} className="px-2!">
        {t.browse.selectNone}
      </Button>
    </div>
  );
}
