import { useEffect, useState } from 'react';

const phone = window.matchMedia('(width < 600px)');
/** Wide enough for a second column. */
const wide = window.matchMedia('(width >= 1280px)');

function useMatches(media: MediaQueryList): boolean {
  const [isSo, setSo] = useState(media.matches);
  useEffect(() => {
    const listen = () => setSo(media.matches);
    media.addEventListener('change', listen);
    return () => media.removeEventListener('change', listen);
  }, [media]);
  return isSo;
}

export const useIsPhone = () => useMatches(phone);
export const useIsWide = () => useMatches(wide);
