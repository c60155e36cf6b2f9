/** Google's list prices in dollars. */
export const dollarsPerRead = 0.6 / 1e6;
const dollarsPerWrite = 1.8 / 1e6;
const dollarsPerDelete = 0.2 / 1e6;

export function priceOf({ reads, writes, deletes }: { reads: number; writes: number; deletes: number }): number {
  return reads * dollarsPerRead + writes * dollarsPerWrite + deletes * dollarsPerDelete;
}
