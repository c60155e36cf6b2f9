import * as Radix from '@radix-ui/react-dropdown-menu';
import { Link } from '@tanstack/react-router';
import { Ellipsis, type LucideIcon } from 'lucide-react';
import type { ReactNode } from 'react';
import { IconButton } from './button.tsx';

export interface MenuItem {
  readonly label: string;
  readonly icon?: LucideIcon;
  readonly onSelect?: () => void;
  readonly to?: string;
  readonly danger?: boolean;
}

const itemLook =
  'flex w-full items-center gap-2.5 rounded-tag px-2.5 py-1.5 max-sm:py-3 text-table outline-none cursor-pointer data-highlighted:bg-held-weak';

interface MenuProps {
  trigger: ReactNode;
  items: readonly (MenuItem | 'line' | false | null | undefined)[];
  align?: 'start' | 'end';
  header?: ReactNode;
  /** Opens at once: the click that asked for it came before it was mounted. */
  isOpenAtFirst?: boolean;
}

/** Not modal: a modal one injects a style element, which the content policy refuses. */
export function Menu({ trigger, items, align = 'end', header, isOpenAtFirst = false }: MenuProps) {
  return (
    <Radix.Root modal={false} defaultOpen={isOpenAtFirst}>
      <Radix.Trigger asChild>{trigger}</Radix.Trigger>
      <Radix.Portal>
        <Radix.Content
          align={align}
          sideOffset={4}
          collisionPadding={8}
          className="z-50 max-h-[70dvh] min-w-48 overflow-y-auto rounded-control border border-line bg-surface p-1 text-ink shadow-overlay"
        >
          {header}
          {items.map((item, index) => {
            if (!item) return null;
            if (item === 'line') return <Radix.Separator key={index} className="my-1 h-px bg-line" />;
            return <Entry key={item.label} item={item} />;
          })}
        </Radix.Content>
      </Radix.Portal>
    </Radix.Root>
  );
}

function Entry({ item }: { item: MenuItem }) {
  const content = (
    <>
      {item.icon && <item.icon size={15} aria-hidden className="shrink-0" />}
      {item.label}
    </>
  );
  const look = `${itemLook} ${item.danger ? 'text-fail' : ''}`;
  if (item.to)
    return (
      <Radix.Item asChild>
        <Link to={item.to} className={look}>
          {content}
        </Link>
      </Radix.Item>
    );
  return (
    <Radix.Item className={look} onSelect={() => item.onSelect?.()}>
      {content}
    </Radix.Item>
  );
}

export function MoreMenu({ label, items }: { label: string; items: MenuProps['items'] }) {
  if (!items.some(Boolean)) return null;
  return <Menu trigger={<IconButton icon={Ellipsis} label={label} />} items={items} />;
}
