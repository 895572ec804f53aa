package bench

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"time"

	"golang.org/x/crypto/chacha20poly1305"
)

// Crypto times what MARS does per datagram (sealing and opening), per chunk (hashing) and per object (signatures), each for about so
// long, on one core. The ciphers are those that protected faces choose between.
func Crypto(ctx context.Context, each time.Duration) ([]CryptoResult, error) {
	key := make([]byte, 32)
	if _, err := rand.Read(key); err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	gcm, err := cipher.NewGCM(block)
	if err != nil {
		return nil, err
	}
	chacha, err := chacha20poly1305.New(key)
	if err != nil {
		return nil, err
	}
	var results []CryptoResult
	add := func(operation string, bytes int, f func()) {
		rate := timeRate(ctx, each, f)
		results = append(results, CryptoResult{operation, bytes, rate, rate * float64(bytes)})
	}
	for _, suite := range []struct {
		name string
		aead cipher.AEAD
	}{{"aes-256-gcm", gcm}, {"chacha20-poly1305", chacha}} {
		for _, size := range []int{1400, 8900} {
			plain, nonce := make([]byte, size), make([]byte, suite.aead.NonceSize())
			sealed := suite.aead.Seal(nil, nonce, plain, nil)
			dst := make([]byte, 0, len(sealed))
			add(suite.name+" seal", size, func() { suite.aead.Seal(dst, nonce, plain, nil) })
			add(suite.name+" open", size, func() {
				if _, e := suite.aead.Open(dst, nonce, sealed, nil); e != nil {
					err = e
				}
			})
		}
	}
	chunk := make([]byte, 8000)
	add("sha-256", len(chunk), func() { sha256.Sum256(chunk) })
	public, private, e := ed25519.GenerateKey(rand.Reader)
	if e != nil {
		return nil, e
	}
	signature := ed25519.Sign(private, key)
	add("ed25519 sign", 0, func() { ed25519.Sign(private, key) })
	add("ed25519 verify", 0, func() { ed25519.Verify(public, key, signature) })
	if err == nil {
		err = ctx.Err()
	}
	return results, err
}

// timeRate calls f for about so long and returns how often a second it can be called.
func timeRate(ctx context.Context, each time.Duration, f func()) float64 {
	f() // what is slow only once
	n, batch, begin := 0, 1, time.Now()
	for {
		for range batch {
			f()
		}
		n += batch
		spent := time.Since(begin)
		if spent >= each || ctx.Err() != nil {
			return float64(n) / spent.Seconds()
		}
		if spent < each/16 {
			batch *= 2
		}
	}
}
