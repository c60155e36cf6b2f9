import { Link } from '@tanstack/react-router';
import { useEffect, useRef } from 'react';

interface TabsProps {
  label: string;
  tabs: readonly { id: string; label: string }[];
  current: string;
}

/** Tabs are links: the chosen one is part of the address. */
export function Tabs({ label, tabs, current }: TabsProps) {
  const bar = useRef<HTMLElement>(null);
  // On a phone the tabs may be wider than the screen: scroll the chosen one into view.
  // biome-ignore lint/correctness/useExhaustiveDependencies: another tab is another place
  useEffect(() => {
    bar.current?.querySelector('[aria-current]')?.scrollIntoView({ block: 'nearest', inline: 'nearest' });
  }, [current]);
  return (
    <nav ref={bar} aria-label={label} className="-mb-px flex gap-5 overflow-x-auto border-line border-b">
      {tabs.map((tab, index) => (
        <Link
          key={tab.id}
          to="."
          search={(index === 0 ? {} : { tab: tab.id }) as never}
          aria-current={tab.id === current ? 'page' : undefined}
          activeProps={{}}
          activeOptions={{ exact: true }}
          className={`border-b-2 pb-2 text-table font-medium whitespace-nowrap ${tab.id === current ? 'border-held text-ink' : 'border-transparent text-ink2 hover:text-ink'}`}
        >
          {tab.label}
        </Link>
      ))}
    </nav>
  );
}
