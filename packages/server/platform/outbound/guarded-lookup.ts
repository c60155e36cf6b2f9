import type { LookupAddress } from 'node:dns';
import { isIP, type LookupFunction } from 'node:net';
import { type AddressGuard, AddressRefused } from './address-guard.ts';
import type { Resolve } from './resolve.ts';

/**
 * The look-up that sockets are opened with. The addresses it returns are the ones that are dialled, so a name server
 * cannot show one address to the check and another to the connection. One refused address refuses the name, unless the
 * operator opened a subnet the name also leads to, as for `localhost` with its two families: then only the allowed are dialled.
 */
export function guardedLookup(guard: AddressGuard, resolve: Resolve): LookupFunction {
  return (hostname, options, callback) => {
    addressesOf(hostname, options.family, guard, resolve).then(
      (addresses) => {
        if (options.all) return callback(null, addresses);
        const [first] = addresses as [LookupAddress];
        callback(null, first.address, first.family);
      },
      (error: NodeJS.ErrnoException) => callback(error, options.all ? [] : '', 0),
    );
  };
}

async function addressesOf(
  hostname: string,
  family: number | string | undefined,
  guard: AddressGuard,
  resolve: Resolve,
): Promise<LookupAddress[]> {
  const found = await resolve(hostname);
  const allowed = found.filter((address) => guard.allows(address));
  if (allowed.length < found.length && !found.some((address) => guard.opens(address))) throw new AddressRefused();
  const wanted = family === 4 || family === 'IPv4' ? 4 : family === 6 || family === 'IPv6' ? 6 : 0;
  const addresses = allowed
    .map((address) => ({ address, family: isIP(address) }))
    .filter((entry) => wanted === 0 || entry.family === wanted);
  if (addresses.length > 0) return addresses;
  throw Object.assign(new Error(`${hostname} has no address of this family`), { code: 'ENOTFOUND' });
}
