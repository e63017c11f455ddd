//! Checks the signatures of tokens with ring, the provider of TLS and WebRTC, so that the program has one cryptography library.

use jsonwebtoken::{
    Algorithm, AlgorithmFamily, DecodingKey, DecodingKeyKind,
    crypto::{CryptoProvider, JwkUtils, JwtVerifier},
    errors::{ErrorKind, Result},
    signature::{Error, Verifier},
};
use ring::signature::{self, RsaPublicKeyComponents, UnparsedPublicKey, VerificationAlgorithm};

/// Verifies with public keys. This server signs no tokens and shares no secrets with issuers.
static PROVIDER: CryptoProvider = CryptoProvider {
    signer_factory: |_, _| Err(ErrorKind::InvalidAlgorithm.into()),
    verifier_factory: |algorithm, key| Ok(Box::new(RingVerifier::new(*algorithm, key)?)),
    jwk_utils: JwkUtils::new_unimplemented(),
};

/// Makes `jsonwebtoken` verify with ring. Only the first call in a process has an effect.
pub(super) fn install() {
    let _ = PROVIDER.install_default();
}

/// How to check a signature.
enum Check {
    /// RSA takes the modulus and the exponent of the key.
    Rsa(&'static signature::RsaParameters),
    /// Elliptic curves take the encoded point.
    Curve(&'static dyn VerificationAlgorithm),
}

struct RingVerifier {
    algorithm: Algorithm,
    check: Check,
    key: DecodingKey,
}

impl RingVerifier {
    /// # Errors
    /// The algorithm needs another kind of key, or is symmetric.
    fn new(algorithm: Algorithm, key: &DecodingKey) -> Result<Self> {
        let (check, family) = match algorithm {
            Algorithm::RS256 => (Check::Rsa(&signature::RSA_PKCS1_2048_8192_SHA256), AlgorithmFamily::Rsa),
            Algorithm::RS384 => (Check::Rsa(&signature::RSA_PKCS1_2048_8192_SHA384), AlgorithmFamily::Rsa),
            Algorithm::RS512 => (Check::Rsa(&signature::RSA_PKCS1_2048_8192_SHA512), AlgorithmFamily::Rsa),
            Algorithm::PS256 => (Check::Rsa(&signature::RSA_PSS_2048_8192_SHA256), AlgorithmFamily::Rsa),
            Algorithm::PS384 => (Check::Rsa(&signature::RSA_PSS_2048_8192_SHA384), AlgorithmFamily::Rsa),
            Algorithm::PS512 => (Check::Rsa(&signature::RSA_PSS_2048_8192_SHA512), AlgorithmFamily::Rsa),
            Algorithm::ES256 => (Check::Curve(&signature::ECDSA_P256_SHA256_FIXED), AlgorithmFamily::Ec),
            Algorithm::ES384 => (Check::Curve(&signature::ECDSA_P384_SHA384_FIXED), AlgorithmFamily::Ec),
            Algorithm::EdDSA => (Check::Curve(&signature::ED25519), AlgorithmFamily::Ed),
            Algorithm::HS256 | Algorithm::HS384 | Algorithm::HS512 => return Err(ErrorKind::InvalidAlgorithm.into()),
        };
        if key.family() != family {
            return Err(ErrorKind::InvalidKeyFormat.into());
        }
        Ok(Self { algorithm, check, key: key.clone() })
    }
}

impl Verifier<Vec<u8>> for RingVerifier {
    fn verify(&self, message: &[u8], signature: &Vec<u8>) -> std::result::Result<(), Error> {
        let verified = match (&self.check, self.key.kind()) {
            (Check::Rsa(parameters), DecodingKeyKind::RsaModulusExponent { n, e }) => {
                RsaPublicKeyComponents { n, e }.verify(parameters, message, signature)
            }
            (Check::Rsa(parameters), DecodingKeyKind::SecretOrDer(der)) => {
                UnparsedPublicKey::new(*parameters, der).verify(message, signature)
            }
            (Check::Curve(algorithm), DecodingKeyKind::SecretOrDer(point)) => {
                UnparsedPublicKey::new(*algorithm, point).verify(message, signature)
            }
            (Check::Curve(_), DecodingKeyKind::RsaModulusExponent { .. }) => Err(ring::error::Unspecified),
        };
        verified.map_err(|_| Error::new())
    }
}

impl JwtVerifier for RingVerifier {
    fn algorithm(&self) -> Algorithm {
        self.algorithm
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};

    use super::*;

    fn verify(algorithm: Algorithm, key: &DecodingKey, message: &str, signature: &str) -> bool {
        let signature = URL_SAFE_NO_PAD.decode(signature).unwrap();
        RingVerifier::new(algorithm, key).is_ok_and(|verifier| verifier.verify(message.as_bytes(), &signature).is_ok())
    }

    /// The examples of RFC 7515, A.2 (RS256) and A.3 (ES256), and of RFC 8037, A.4 (EdDSA).
    #[test]
    fn published_examples_verify_only_unchanged() {
        let claims = "eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ";
        let rsa = DecodingKey::from_rsa_components(
            "ofgWCuLjybRlzo0tZWJjNiuSfb4p4fAkd_wWJcyQoTbji9k0l8W26mPddxHmfHQp-Vaw-4qPCJrcS2mJPMEzP1Pt0Bm4d4QlL-yRT-SFd2lZS-pCgNMsD1W_YpRPEwOWvG6b32690r2jZ47soMZo9wGzjb_7OMg0LOL-bSf63kpaSHSXndS5z5rexMdbBYUsLA9e-KXBdQOS-UTo7WTBEMa2R2CapHg665xsmtdVMTBQY4uDZlxvb3qCo5ZwKh9kG4LT6_I5IhlJH7aGhyxXFvUK-DWNmoudF8NAco9_h9iaGNj8q2ethFkMLs91kzk2PAcDTW9gb54h4FRWyuXpoQ",
            "AQAB",
        )
        .unwrap();
        let rs256 = "cC4hiUPoj9Eetdgtv3hF80EGrhuB__dzERat0XF9g2VtQgr9PJbu3XOiZj5RZmh7AAuHIm4Bh-0Qc_lF5YKt_O8W2Fp5jujGbds9uJdbF9CUAr7t1dnZcAcQjbKBYNX4BAynRFdiuB--f_nZLgrnbyTyWzO75vRK5h6xBArLIARNPvkSjtQBMHlb1L07Qe7K0GarZRmB_eSN9383LcOLn6_dO--xi12jzDwusC-eOkHWEsqtFZESc6BfI7noOPqvhJ1phCnvWh6IeYI2w9QOYEUipUTI8np6LbgGY9Fs98rqVt5AXLIhWkWywlVmtVrBp0igcN_IoypGlUPQGe77Rw";
        let ec =
            DecodingKey::from_ec_components("f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU", "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0")
                .unwrap();
        let es256 = "DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q";
        let ed = DecodingKey::from_ed_components("11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo").unwrap();
        let eddsa = "hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhijcNR4ki4iylGjg5BhVsPt9g7sVvpAr_MuM0KAg";
        let cases = [
            (Algorithm::RS256, &rsa, format!("eyJhbGciOiJSUzI1NiJ9.{claims}"), rs256),
            (Algorithm::ES256, &ec, format!("eyJhbGciOiJFUzI1NiJ9.{claims}"), es256),
            (Algorithm::EdDSA, &ed, "eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc".to_owned(), eddsa),
        ];
        for (algorithm, key, message, signature) in &cases {
            assert!(verify(*algorithm, key, message, signature), "{algorithm:?}");
            assert!(!verify(*algorithm, key, &format!("{message}A"), signature), "{algorithm:?} of another message");
            for (other, foreign, ..) in cases.iter().filter(|case| case.0 != *algorithm) {
                assert!(!verify(*algorithm, foreign, message, signature), "{algorithm:?} with a key for {other:?}");
                assert!(!verify(*other, key, message, signature), "{other:?} with a key for {algorithm:?}");
            }
        }
        for symmetric in [Algorithm::HS256, Algorithm::HS384, Algorithm::HS512] {
            assert!(RingVerifier::new(symmetric, &DecodingKey::from_secret(b"secret")).is_err());
        }
    }
}
