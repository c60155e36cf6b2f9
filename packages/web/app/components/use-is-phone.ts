import { useEffect, useState } from 'react';

const phone = window.matchMedia('(width < 600px)');

export function useIsPhone(): boolean {
  const [isPhone, setPhone] = useState(phone.matches);
  useEffect(() => {
    const listen = () => setPhone(phone.matches);
    phone.addEventListener('change', listen);
    return () => phone.removeEventListener('change', listen);
  }, []);
  return isPhone;
}
