import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';

type Address = ipaddr.IPv4 | ipaddr.IPv6;
type Subnet = [Address, number];

/** Global unicast; it contains everything of IPv6 that is routed on the internet. */
const globalUnicast = ipaddr.IPv6.parseCIDR('2000::/3');

/** The operator can open chosen subnets, so every refusal names the setting. */
export const privateAddressReason =
  'lies in a private or reserved network, which only the operator of this service can open (OUTBOUND_ALLOWED_SUBNETS)';

/**
 * An address that the service does not dial for a customer. Does not contain the address, because names inside our
 * network must not be revealed.
 */
export class AddressRefused extends Error {
  override name = 'AddressRefused';
  readonly code = 'ADDRESS_REFUSED';

  constructor() {
    super(`The address ${privateAddressReason}.`);
  }
}

/**
 * Decides which addresses may be dialled at a customer's request: only those routed on the internet. Refused are local
 * networks, this machine, the cloud's metadata, and every IPv6 form that embeds or translates IPv4. `allowedSubnets`
 * opens chosen ones.
 */
export class AddressGuard {
  readonly #allowed: readonly Subnet[];

  constructor(allowedSubnets: readonly string[] = []) {
    this.#allowed = allowedSubnets.map((subnet) => ipaddr.parseCIDR(subnet) as Subnet);
  }

  /** Whether an address may be dialled, as the network stack reads it. Text that is not an address may not. */
  allows(address: string): boolean {
    const parsed = parse(address);
    return parsed !== undefined && (isRouted(parsed) || this.#isOpened(parsed));
  }

  /** Whether the operator opened a subnet with this address. */
  opens(address: string): boolean {
    const parsed = parse(address);
    return parsed !== undefined && this.#isOpened(parsed);
  }

  /** Whether the host of a URL is a forbidden address. A name is not: its addresses are checked when it is dialled. */
  refusesHost(host: string): boolean {
    const literal = host.replace(/^\[(.*)\]$/, '$1');
    return isIP(literal.replace(/%.*$/, '')) !== 0 && !this.allows(literal);
  }

  #isOpened(address: Address): boolean {
    return this.#allowed.some((subnet) => contains(subnet, address) || contains(subnet, unmapped(address)));
  }
}

/** IPv6 is normalized first: the library takes `::10.0.0.1` for the mapped form, the network does not. */
function parse(address: string): Address | undefined {
  const text = address.replace(/%.*$/, '');
  const family = isIP(text);
  if (family === 0) return undefined;
  return ipaddr.parse(family === 6 ? new URL(`http://[${text}]`).hostname.slice(1, -1) : text);
}

function isRouted(address: Address): boolean {
  if (address.range() !== 'unicast') return false;
  return address instanceof ipaddr.IPv4 || address.match(globalUnicast);
}

/** `::ffff:10.0.0.1` is dialled as 10.0.0.1, so a subnet that opens one also opens the other. */
function unmapped(address: Address): Address {
  return address instanceof ipaddr.IPv6 && address.isIPv4MappedAddress() ? address.toIPv4Address() : address;
}

function contains([network, bits]: Subnet, address: Address): boolean {
  if (network instanceof ipaddr.IPv4) return address instanceof ipaddr.IPv4 && address.match(network, bits);
  return address instanceof ipaddr.IPv6 && address.match(network, bits);
}
