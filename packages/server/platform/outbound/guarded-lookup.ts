import type { LookupAddress } from 'node:dns';
import { isIP, type LookupFunction } from 'node:net';
import { type AddressGuard, AddressRefused } from './address-guard.ts';
import type { Resolve } from './resolve.ts';

/**
 * The look-up of every socket. The addresses it returns are the ones that are dialled, so a name server cannot give the
 * check one address and the connection another. One forbidden address refuses the whole name, unless the name also has
 * an address in a subnet that the operator opened, as with the two families of `localhost`: then only the allowed ones
 * are dialled.
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
