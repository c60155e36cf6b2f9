import { ShoppingBasket, Trash2, X } from 'lucide-react';
import { useState } from 'react';
import { useCan, useWorkplace } from '../api/organization.tsx';
import { Button, IconButton } from '../components/button.tsx';
import { Dialog } from '../components/dialog.tsx';
import { t } from '../texts/index.ts';
import { useGo, usePaths } from '../url.ts';
import { useBasket } from './basket.ts';

/** The basket in the top bar, with the number of picked documents. */
export function BasketButton() {
  const [isOpen, setOpen] = useState(false);
  const { basket, toggle, clear } = useBasket(useWorkplace().organization.id);
  const canRestore = useCan('member');
  const paths = usePaths();
  const go = useGo();
  if (basket.items.length === 0) return null;
  const count = basket.items.length;
  return (
    <>
      <Button icon={ShoppingBasket} onClick={() => setOpen(true)} aria-label={t.shell.basket.label(count)}>
        {count}
      </Button>
      {isOpen && (
        <Dialog
          title={t.shell.basket.title}
          onClose={() => setOpen(false)}
          footer={
            <>
              <Button icon={Trash2} onClick={clear}>
                {t.shell.basket.clear}
              </Button>
              {canRestore && (
                <Button
                  kind="primary"
                  onClick={() => {
                    setOpen(false);
                    go(paths.newRestore({ basket: '1' }));
                  }}
                >
                  {t.shell.basket.restore(count)}
                </Button>
              )}
            </>
          }
        >
          <ul className="flex flex-col">
            {basket.items.map((item) => (
              <li key={item.path} className="flex items-center gap-2 border-line border-b py-1.5 last:border-b-0">
                <span className="min-w-0 flex-1">
                  <span className="block truncate font-mono text-table">{item.path}</span>
                  <span className="block text-meta text-ink3">{t.shell.basket.from(item.from)}</span>
                </span>
                <IconButton
                  icon={X}
                  label={t.shell.basket.remove}
                  onClick={() => toggle(basket.projectId ?? '', item)}
                />
              </li>
            ))}
          </ul>
        </Dialog>
      )}
    </>
  );
}
