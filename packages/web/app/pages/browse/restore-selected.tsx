import { RotateCcw } from 'lucide-react';
import { useCan, useWorkplace } from '../../api/organization.tsx';
import { Button, LinkButton } from '../../components/button.tsx';
import { useBasket } from '../../shell/basket.ts';
import { t } from '../../texts/index.ts';
import { usePaths } from '../../url.ts';

/** Why nothing can be picked here, and what to do. */
export function OthersBasket() {
  const { clear } = useBasket(useWorkplace().organization.id);
  return (
    <p role="status" className="text-table text-ink2">
      {t.shell.basket.oneProject}{' '}
      <button type="button" onClick={clear} className="font-medium text-held hover:underline">
        {t.shell.basket.clear}
      </button>
    </p>
  );
}

/** Restores the selected documents of this list together with the rest of the basket. */
export function RestoreSelected({ projectId }: { projectId: string }) {
  const { basket, isOthers, clear } = useBasket(useWorkplace().organization.id);
  const canRestore = useCan('member');
  const paths = usePaths();
  if (!canRestore || basket.items.length === 0) return null;
  if (isOthers(projectId)) return <OthersBasket />;
  return (
    <div className="flex flex-wrap gap-1">
      <LinkButton kind="primary" icon={RotateCcw} to={paths.newRestore({ basket: '1' })} className="px-2!">
        {t.browse.restoreSelected(basket.items.length)}
      </LinkButton>
      <Button kind="quiet" onClick={clear} className="px-1!">
        {t.browse.selectNone}
      </Button>
    </div>
  );
}
