import { HoldfastError } from '@holdfast/contract/client';
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { RouterProvider } from '@tanstack/react-router';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { Announcer } from './components/announcer.tsx';
import { TooltipProvider } from './components/tooltip.tsx';
import { rememberNext } from './pages/sign-in/next.ts';
import { router } from './router.tsx';
import { SessionEnd } from './shell/session-end.tsx';
import { wasSignedOut } from './shell/sign-out.ts';
import { followSystemTheme } from './shell/theme.ts';
import './styles.css';

const queries = new QueryClient({
  defaultOptions: {
    // The service may run on this machine, so the browser's offline state says nothing about it.
    mutations: { networkMode: 'always' },
    queries: {
      networkMode: 'always',
      staleTime: 5000,
      // The client itself retries 429 and 503; other errors are not retried.
      retry: (failures, error) => failures < 1 && error instanceof HoldfastError && error.status === 0,
      refetchOnWindowFocus: true,
    },
  },
});

followSystemTheme();

function leave(): void {
  const { pathname, search: query } = window.location;
  rememberNext(`${pathname}${query}`);
  queries.clear();
  const search = pathname === '/' || wasSignedOut() ? {} : ({ ended: '1' } as never);
  // The sign-in page handles a missing session itself.
  void router.navigate({ to: '/sign-in', search, ignoreBlocker: true });
}

const place = document.getElementById('root');
if (!place) throw new Error('the page has no place for the dashboard');
createRoot(place).render(
  <StrictMode>
    <QueryClientProvider client={queries}>
      <TooltipProvider>
        <RouterProvider router={router} />
        <SessionEnd onLeave={leave} />
        <Announcer />
      </TooltipProvider>
    </QueryClientProvider>
  </StrictMode>,
);
