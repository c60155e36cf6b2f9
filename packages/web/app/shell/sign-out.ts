import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { clientFor } from '../api/client.ts';

let isOnPurpose = false;

/** Whether the session that is missing was ended here, by the person. */
export const wasSignedOut = () => isOnPurpose;

export function noteSignedIn(): void {
  isOnPurpose = false;
}

/** Ends the session and leaves. Nothing is read again on the way out: every such call would be refused. */
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
