import * as Radix from '@radix-ui/react-tooltip';
import type { ReactNode } from 'react';

export const TooltipProvider = Radix.Provider;

interface TooltipProps {
  children: ReactNode;
  text: ReactNode;
}

/** Shown on hover and on keyboard focus. */
export function Tooltip({ children, text }: TooltipProps) {
  return (
    <Radix.Root delayDuration={250}>
      <Radix.Trigger asChild>{children}</Radix.Trigger>
      <Radix.Portal>
        <Radix.Content
          sideOffset={4}
          collisionPadding={8}
          className="z-50 max-w-72 rounded-control bg-ink px-2.5 py-1.5 text-meta text-on-ink shadow-overlay"
        >
          {text}
        </Radix.Content>
      </Radix.Portal>
    </Radix.Root>
  );
}
