import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { clientFor } from '../api/client.ts';

let isOnPurpose = false;

/** Whether the person signed out here. */
export const wasSignedOut = () => isOnPurpose;

export function noteSignedIn(): void {
  isOnPurpose = false;
}

/** Signs out and leaves. Nothing is refetched: such calls would be refused. */
export function useSignOut() {
  const queries = useQueryClient();
  const navigate = useNavigate();
  return useMutation({
    mutationFn: () => clientFor().logout({}),
    onSuccess: async () => {
      isOnPurpose = true;
      await queries.cancelQueries();
      await navigate({ to: '/sign-in', ignoreBlocker: true });
      queries.removeQueries({ type: 'inactive' });
    },
  });
}
